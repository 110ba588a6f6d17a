import { bareJson } from '../../util/bare-json.ts';
import type { TurnRecord } from './backend.ts';

/** The record of a turn that was asked for JSON: its answer is the newest text alone, without a fence or words around it. */
export function asJson(record: TurnRecord): TurnRecord {
  if (record.outcome !== 'answered') return record;
  const text = bareJson(record.last);
  return { ...record, text, last: text };
}
