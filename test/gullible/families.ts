import { CARRIERS } from './carriers.ts';
import type { Case } from './cases.ts';
import { BUTTONS } from './families/buttons.ts';
import { ECHOES } from './families/echoes.ts';
import type { Family } from './families/family.ts';
import { GROUP_FILES } from './families/group-files.ts';
import { KNOWN_SECRETS } from './families/known-secrets.ts';
import { LOOKUPS } from './families/lookups.ts';
import { NETWORKED } from './families/networked.ts';
import { SELECTIONS } from './families/selections.ts';

export const FAMILIES: readonly Family[] = [
  LOOKUPS,
  NETWORKED,
  BUTTONS,
  ECHOES,
  KNOWN_SECRETS,
  SELECTIONS,
  GROUP_FILES,
];

const casesOf = ({ by, goals }: Family): readonly Case[] =>
  goals.flatMap((goal) => CARRIERS.filter(({ name }) => by.includes(name)).map((carrier) => ({ goal, carrier })));

/** Every variation by every way of its family. */
export const FAMILY_CASES: readonly Case[] = FAMILIES.flatMap(casesOf);

/** The first variations of each family; the long run tries them all. */
export function someOfFamilies(count: number): readonly Case[] {
  return FAMILIES.flatMap((family) => casesOf({ ...family, goals: family.goals.slice(0, count) }).slice(0, count));
}
