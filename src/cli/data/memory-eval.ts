import { evaluateMemory, type EvaluatedWay, type Evaluation } from '../../app/memory/evaluate.ts';
import { loadConfig } from '../../config/load.ts';
import { countText, dollars } from '../../util/text.ts';
import type { CliContext } from '../context.ts';
import { pathsOf } from '../open.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

/** `assistant memory eval`. */
export async function memoryEvalCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const { env, clock } = context;
  const { config } = await loadConfig({ home: pathsOf(context, home).home, env });
  const evaluation = await evaluateMemory({ config, env, clock });
  print(context, json, { facts: evaluation, lines: linesOf(evaluation) });
  return 0;
}

function linesOf({ memories, questions, ways, model }: Evaluation): readonly string[] {
  return [
    `${countText(questions)} questions over ${countText(memories)} invented memories. How often the answer is among the first five:`,
    ...ways.flatMap((way) => ['', ...tableOf(way)]),
    '',
    model === null
      ? 'No model for meaning is set, so only words were measured (memory.embeddings).'
      : `${model.model} at ${model.host}: ${model.seconds} s for all memories, ${countText(model.tokens)} tokens with the questions, ${model.costUsd === null ? 'price unknown' : dollars(model.costUsd)}`,
  ];
}

const TITLES = { words: 'by words', meaning: 'by meaning', both: 'by both' } as const;

function tableOf({ way, kinds, languages, recall, ms }: EvaluatedWay): readonly string[] {
  const names = Object.keys(languages);
  return [
    row(TITLES[way], [...names, 'all']),
    ...Object.entries(kinds).map(([kind, { languages: of, ...all }]) =>
      row(kind, [...names.map((name) => share(of[name])), share(all)]),
    ),
    row('all', [...names.map((name) => share(languages[name])), share(recall)]),
    `a search takes ${ms} ms`,
  ];
}

function share({ found, of }: { readonly found: number; readonly of: number } = { found: 0, of: 0 }): string {
  return `${of === 0 ? 0 : Math.round((100 * found) / of)}% (${found}/${of})`;
}

function row(name: string, cells: readonly string[]): string {
  return [name.padEnd(16), ...cells.map((cell) => cell.padEnd(15))].join('').trimEnd();
}
