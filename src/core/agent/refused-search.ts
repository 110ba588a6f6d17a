/**
 * One request in the search for what a provider refuses: it is sent without some of the suspects. When it is accepted, the
 * cause is among what it left out, and the search goes on in there.
 */
export interface Trial<Suspect> {
  /** `half`: without the first of the suspects. `rest`: without the others, because that was refused. `all`: without all. */
  readonly stage: 'all' | 'half' | 'rest';
  readonly suspects: readonly Suspect[];
  /** How many of the suspects are left out, from the first on. */
  readonly tried: number;
  /** Left out as well, because there is a cause among them, too. */
  readonly held?: readonly Suspect[];
  /** A request without all that was suspected then has been accepted. */
  readonly isProven?: boolean;
}

/** How a search goes on after a trial. */
interface Step<Suspect> {
  readonly isAccepted: boolean;
  /** No further trial may follow, so this one leaves out all that is still suspected. */
  readonly isLast: boolean;
  /** Assumes that there is one cause: takes half as many trials, and may end without a request that is accepted. */
  readonly isSingle: boolean;
  /** How many of these suspects to leave out first. */
  readonly first: (suspects: readonly Suspect[]) => number;
}

/** What a trial leaves out. */
export function leftOutOf<Suspect>({ suspects, tried, held = [] }: Trial<Suspect>): readonly Suspect[] {
  return [...held, ...suspects.slice(0, tried)];
}

/** The next trial; null ends the search: what an accepted trial left out is the cause, and after a refused one it is elsewhere. */
export function nextTrial<Suspect>(trial: Trial<Suspect>, step: Step<Suspect>): Trial<Suspect> | null {
  const { stage, suspects, tried, held = [], isProven = false } = trial;
  const first = suspects.slice(0, tried);
  const rest = suspects.slice(tried);
  const halved = (some: readonly Suspect[], kept: readonly Suspect[]): Trial<Suspect> => ({
    stage: 'half',
    suspects: some,
    tried: step.isLast ? some.length : step.first(some),
    held: kept,
    isProven: true,
  });
  if (step.isAccepted) {
    const isOver = first.length === 1 || (stage === 'half' && rest.length === 0);
    return isOver ? null : halved(first, held);
  }
  if (rest.length === 0) return null;
  if (stage === 'rest') {
    const both = [...held, ...first];
    return isProven ? halved(rest, both) : { stage: 'all', suspects: rest, tried: rest.length, held: both };
  }
  if (step.isSingle) return halved(rest, held);
  if (step.isLast) return { stage: 'half', suspects, tried: suspects.length, held, isProven };
  return { stage: 'rest', suspects: [...rest, ...first], tried: rest.length, held, isProven };
}
