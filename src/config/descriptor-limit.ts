import { readFileSync } from 'node:fs';

/** Descriptor limit of the process; unlimited if unknown. */
export function descriptorLimit(): number {
  const soft = Number(limitInProc() ?? limitInReport());
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}

/** What Linux says of this process: a report would take 8 ms each time. */
function limitInProc(): string | undefined {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function limitInReport(): number | string | undefined {
  // The report would look up the names of all peers.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  return report.userLimits?.open_files?.soft;
}
