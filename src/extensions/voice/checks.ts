import { failed, ok, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { hearingServer, speakingServer, speechState } from './servers.ts';

export const checks: readonly Check[] = [
  {
    id: 'voice.server',
    subject: 'models',
    about: 'which servers turn voice messages into text and speak answers, and get recordings and texts',
    run: voice,
  },
];

function voice({ program, loaded, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const at = { config: loaded.config, program };
  const state = speechState(at);
  return [
    ...serverFinding(hearingServer(at), {
      does: `Voice messages are ${state.voice}.`,
      off: 'To switch that off, set voice.provider to null.',
      remedy: command('config set voice.provider auto'),
    }),
    ...serverFinding(speakingServer(at), {
      does: `Answers are ${state.speech}.`,
      off: 'To switch that off, set voice.speech.provider to null.',
      remedy: command('config set voice.speech.provider auto'),
    }),
  ];
}

function serverFinding(
  server: ReturnType<typeof hearingServer | typeof speakingServer>,
  { does, off, remedy }: { readonly does: string; readonly off: string; readonly remedy: string },
): readonly Found[] {
  if (typeof server === 'string') return [failed(server, remedy)];
  if (server === null) return [];
  return [ok(server.isAutomatic ? `${does} ${off}` : does)];
}
