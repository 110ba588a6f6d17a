import { argument, commandRow, flagOption, textOption, type GroupPart } from '../../core/api-rows.ts';

const json = flagOption('as JSON');
const liveModel = textOption(
  '<model>',
  'ask this model (provider/model) instead of comparing requests; costs what it costs',
);

/** `assistant trace save`, `replay` and `test`; `list` and `show` are the core's. */
export const traceRows: GroupPart = {
  name: 'trace',
  commands: [
    commandRow({
      name: 'save',
      description: 'write a turn into a file, without secrets, so that it can be replayed',
      arguments: { turn: argument('its id, as the list or `audit` shows it') },
      options: { out: textOption('<file>', 'the file to write (default: trace-TURN.jsonl in this folder)'), json },
      after: 'The file holds the conversation, the prompt and the results of tools; only you can read it.',
      examples: ['trace save 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --out traces/weather.jsonl'],
      load: async () => (await import('./commands.ts')).traceSaveCommand,
    }),
    commandRow({
      name: 'replay',
      description: 'run a saved turn again and compare its model requests byte for byte, without a network',
      arguments: { file: argument('the file that `trace save` wrote') },
      options: {
        modelLive: flagOption(
          'ask the real model instead, with the recorded results of tools, and show both turns side by side',
        ),
        model: liveModel,
        json,
      },
      exits: {
        1: 'a request differs or cannot be built; with a real model: a call was not recorded, or the turn ended otherwise',
      },
      examples: ['trace replay traces/weather.jsonl', 'trace replay traces/weather.jsonl --model-live'],
      load: async () => (await import('./commands.ts')).traceReplayCommand,
    }),
    commandRow({
      name: 'test',
      description: 'replay each trace (*.jsonl) of a folder, such as before an upgrade',
      arguments: { folder: argument('the folder with the files that `trace save` wrote') },
      options: { model: liveModel, json },
      exits: { 1: 'a trace is not as recorded, or there is none' },
      examples: ['trace test traces', 'trace test traces --model openai/gpt-5-mini'],
      load: async () => (await import('./commands.ts')).traceTestCommand,
    }),
  ],
};
