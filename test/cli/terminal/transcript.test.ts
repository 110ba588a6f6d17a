import { expect, test } from 'vitest';
import { ScreenTranscript } from '../../../src/extensions/terminal/transcript.ts';
import { QUESTION, textEvent, toolEnd, toolEvent } from '../../gateway/fake-assistant.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LOOK = { width: 60, style: 'plain', hyperlinks: false, clean: (text: string) => text } as const;

function begun(): { readonly clock: VirtualClock; readonly transcript: ScreenTranscript } {
  const clock = new VirtualClock();
  const transcript = new ScreenTranscript(() => LOOK, clock);
  transcript.begin();
  return { clock, transcript };
}

test('the time that a person takes for a yes is not counted as the time of the tool', async () => {
  const { clock, transcript } = begun();
  transcript.event(toolEvent('tool-start', 'exec make'));
  await clock.advance(1_000);
  transcript.activity.asking(true);
  await clock.advance(90_000);
  transcript.activity.asking(false);
  expect(transcript.activity.rows(LOOK).join('')).toMatch(/exec make · 1\.0 s$/u);
  await clock.advance(2_000);
  expect(transcript.event(toolEnd('ran make'))).toEqual(['  ✓ ran make · 3.0 s']);
});

test('of a tool that a person was asked about and that starts afterwards, its own time is counted', async () => {
  const { clock, transcript } = begun();
  transcript.activity.asking(true);
  await clock.advance(5_000);
  transcript.event(toolEvent('tool-start', 'exec make'));
  await clock.advance(5_000);
  transcript.activity.asking(false);
  await clock.advance(2_000);
  expect(transcript.event(toolEnd('ran make'))).toEqual(['  ✓ ran make · 2.0 s']);
});

test.each([
  [999, '  ✓ ran date'],
  [1_000, '  ✓ ran date · 1.0 s'],
])('a tool that took %i ms is shown as "%s"', async (ms, line) => {
  const { clock, transcript } = begun();
  transcript.event(toolEvent('tool-start', 'exec date'));
  await clock.advance(ms);
  expect(transcript.event(toolEnd('ran date'))).toEqual([line]);
});

test('what a person read with the question is not said again when it was refused', () => {
  const { transcript } = begun();
  transcript.question(QUESTION);
  const refused = 'Not done: the owner said no. It deletes files.';
  expect(transcript.event(toolEnd('exec rm', { isError: true, refused }))).toEqual([
    '  ✗ exec rm: Not done: the owner said no.',
  ]);
});

test('another message for the same turn does not make `thinking` count anew', async () => {
  const { clock, transcript } = begun();
  await clock.advance(5_000);
  transcript.begin();
  expect(transcript.activity.rows(LOOK).join('')).toMatch(/thinking · 5\.0 s$/u);
});

test('an empty line stands between a tool and the text below it, and between two answers of one turn', () => {
  const { transcript } = begun();
  const lines = [
    ...transcript.event(textEvent('Let me look.')),
    ...transcript.event(toolEnd('ran date')),
    ...transcript.event(textEvent('Saturday.')),
    ...transcript.message({ text: 'Sent as well.', turnId: 't1' }),
  ];
  expect(lines).toEqual(['Let me look.', '  ✓ ran date', '', 'Saturday.', '', 'Sent as well.']);
});

test('what comes by itself after a turn brings no empty line of its own, since the view has left one', () => {
  const { transcript } = begun();
  transcript.summary({ text: 'It is Saturday.' });
  transcript.activity.end();
  expect(transcript.message({ text: 'Drink tea.', from: 'the reminder tea' })).toEqual([
    '  From the reminder tea:',
    'Drink tea.',
  ]);
});
