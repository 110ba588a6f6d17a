import type { ModelName } from '../../providers/provider.ts';
import type { TapeEntry } from '../../session/entry.ts';
import type { ChosenModel } from './current-turn.ts';

/** The models that wrote something in this turn, each once, oldest first. */
export function modelsOf(entries: readonly TapeEntry[]): readonly ModelName[] {
  const names: ModelName[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'message' || entry.role !== 'assistant') continue;
    const { provider, model } = entry;
    if (!names.some((name) => name.provider === provider && name.model === model)) names.push({ provider, model });
  }
  return names;
}

/** Whether a model other than the chosen one wrote in this turn: reasoning is then off until the turn ends. */
export function changedModel(entries: readonly TapeEntry[], chosen: ChosenModel): boolean {
  return modelsOf(entries).some((name) => !isChosen(name, chosen));
}

/** The model of the newest answer, `provider/model`; the chosen one when there is none. */
export function answeringModel(entries: readonly TapeEntry[], chosen: ChosenModel): string {
  const last = entries.findLast((entry) => entry.kind === 'message' && entry.role === 'assistant');
  return last?.kind === 'message' && last.role === 'assistant'
    ? `${last.provider}/${last.model}`
    : `${chosen.providerName}/${chosen.model}`;
}

/** The answer with a last line that names the model when it was not the chosen one. */
export function signed(answer: string, entries: readonly TapeEntry[], chosen: ChosenModel): string {
  const model = answeringModel(entries, chosen);
  return answer === '' || model === `${chosen.providerName}/${chosen.model}`
    ? answer
    : `${answer}\n\n_answered by ${model}_`;
}

function isChosen(name: ModelName, chosen: ChosenModel): boolean {
  return name.provider === chosen.providerName && name.model === chosen.model;
}
