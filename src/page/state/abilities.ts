import { signal } from '@preact/signals';
import { operation } from '../net/http.ts';
import { abilities } from './panels.ts';

/** Whether voice messages are turned into text. */
export const canHear = signal(false);

/** Asks what this assistant can do, so that the page offers nothing that fails. */
export async function learnAbilities(): Promise<void> {
  const { transcription, operations } = await operation('info', {});
  canHear.value = transcription;
  abilities.value = new Set(operations);
}
