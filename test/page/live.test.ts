import { afterEach, expect, test, vi } from 'vitest';
import { hearLive, liveTurns, runningTurns, takeSnapshot } from '../../src/page/state/live.ts';

const of = { channel: 'web', chatId: 'main', sessionKey: 'web:main', sequence: 1 };
const result = {
  outcome: 'answered',
  text: 'Done.',
  isError: false,
  errorKind: null,
  model: null,
  usage: { input: 1, cached: 0, cacheWrite: 0, output: 1, reasoning: 0 },
  costUsd: null,
  durationMs: 1,
} as const;

afterEach(() => vi.unstubAllGlobals());

/** The screen of the page; what is returned draws its next frame. */
function screen(): () => void {
  const frames: (() => void)[] = [];
  vi.stubGlobal('document', { visibilityState: 'visible' });
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) => frames.push(draw));
  takeSnapshot([]);
  return () => {
    for (const draw of frames.splice(0)) draw();
  };
}

test('a turn that ends before the screen draws its beginning does not run for ever', () => {
  const draw = screen();
  hearLive({ ...of, turnId: 'short', type: 'typing' });
  hearLive({ ...of, turnId: 'long', type: 'text', text: 'It goes on' });
  hearLive({ ...of, turnId: 'short', type: 'turn-end', result, answers: [] });
  draw();
  expect([...liveTurns.value.keys()]).toEqual(['long']);
});

test('a turn that another process continues shows what it showed before until it goes on; its history then has that', () => {
  const draw = screen();
  hearLive({ ...of, turnId: 'turn', type: 'tool-start', callId: 'a', name: 'list_dir', title: 'list_dir .' });
  hearLive({ ...of, turnId: 'turn', type: 'text', text: 'Half of' });
  draw();
  const before = liveTurns.value.get('turn');
  const snapshot = { session: 'web:main', turn: 'turn', startedAt: 7, since: 7, segments: [], status: '' };
  for (let connection = 0; connection < 2; connection += 1) {
    takeSnapshot([snapshot]);
    hearLive({ ...of, turnId: 'turn', type: 'typing' });
    draw();
    expect(liveTurns.value.get('turn')).toEqual({ ...before, segments: [{ kind: 'text', text: 'Half of' }] });
    expect(runningTurns.value.get('turn')).toBe(0);
  }
  hearLive({ ...of, turnId: 'turn', type: 'text', text: 'All' });
  draw();
  expect(liveTurns.value.get('turn')).toEqual({ ...snapshot, segments: [{ kind: 'text', text: 'All' }] });
  expect(runningTurns.value.get('turn')).toBe(7);
});
