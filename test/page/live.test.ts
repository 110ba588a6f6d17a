import { afterEach, expect, test, vi } from 'vitest';
import { hearLive, liveTurns, takeSnapshot } from '../../src/page/state/live.ts';

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
