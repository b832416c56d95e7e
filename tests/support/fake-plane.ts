import { existsSync, renameSync, writeFileSync } from 'node:fs';
import type {
  AudioMeeting,
  AudioWatch,
  MediaPlane,
  MediaSession,
  RecordReport,
  RecordRequest,
} from '../../src/telephony/media.ts';
import { FakeMeeting, FakeMix, type FakeRecorder } from './fake-audio.ts';

/**
 * A media plane whose sessions cannot really meet: mixes and snoops only remember, and recordings are files with a few
 * bytes, complete as soon as they are asked to end. For tests of what clients see, not of what they hear.
 */
export function withFakeMeeting(plane: MediaPlane): MediaPlane & AudioMeeting {
  const meeting = new FakeMeeting();
  /** A recorder that writes its file, with the rules of the port. */
  const recording = (watch: AudioWatch & { recorders: FakeRecorder[] }): AudioWatch['record'] => {
    const record = watch.record.bind(watch);
    return (request: RecordRequest, told: (report: RecordReport) => void) =>
      record(request, (report) => {
        if (report.type === 'record.finished') {
          writeFileSync(`${request.path}.part`, existsSync(request.path) ? 'more' : 'RIFF sound');
          renameSync(`${request.path}.part`, request.path);
        }
        told(report);
      });
  };
  const watched = <S extends MediaSession>(session: S): S => {
    const watch = new FakeMix(session.id, 'mixing', () => {});
    return Object.assign(session, {
      music: watch.music.bind(watch),
      detectTalking: watch.detectTalking.bind(watch),
      record: recording(watch),
    });
  };
  return {
    openRtp: async (id, told) => watched(await plane.openRtp(id, told)),
    reopenRtp: async (dump, told) => watched(await plane.reopenRtp(dump, told)),
    openPair(ids, told) {
      const [one, other] = plane.openPair(ids, told);
      return [watched(one), watched(other)];
    },
    usage: () => plane.usage(),
    close: () => plane.close(),
    openMix(id, kind, told) {
      const mix = meeting.openMix(id, kind, told);
      return Object.assign(mix, { record: recording(mix) });
    },
    openSnoop: (id, target, directions, told) => watched(meeting.openSnoop(id, target, directions, told)),
  };
}
