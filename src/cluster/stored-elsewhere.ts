import type { Cluster } from './cluster.ts';

/** A user that may look at recordings. It exists for requests of nodes alone. */
const user = { name: 'cluster', read_only: true };

/**
 * Asks all other nodes for the file of a recording; the first that has it answers.
 * @param copy the etag that a node had given for it
 * @returns the node, and its answer: 200 with the file, or 304 where the etag is still right
 * @throws (rejects) Error that says why there is none, for people
 */
export async function fetchRecording(
  cluster: Pick<Cluster, 'others' | 'ask'>,
  name: string,
  copy: { node: string; etag: string } | undefined,
): Promise<{ node: string; answer: Response }> {
  const url = `/ari/recordings/stored/${encodeURIComponent(name)}/file`;
  const { asked, away } = cluster.others();
  const missing = [...away];
  const look = async (node: string) => {
    const headers: Record<string, string> = copy?.node === node ? { 'if-none-match': copy.etag } : {};
    const answer = await cluster.ask(node, { method: 'GET', url, headers, user }).catch((error: unknown) => {
      missing.push(node);
      throw error;
    });
    if (answer.ok || answer.status === 304) return { node, answer };
    void answer.body?.cancel().catch(() => {});
    throw new Error(`${answer.status}`);
  };
  try {
    return await Promise.any(asked.map(look));
  } catch (error) {
    const unknown = missing.length > 0 ? `; these did not answer: ${missing.sort().join(', ')}` : '';
    throw new Error(`no recording '${name}' at any node${unknown}`, { cause: error });
  }
}
