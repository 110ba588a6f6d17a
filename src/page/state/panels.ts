import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

/** A panel of the page. */
export interface PanelRow {
  /** In the address: `#/schedule`. */
  readonly name: string;
  readonly title: string;
  /** It is not shown where the assistant has no operation of this name. @default always shown */
  readonly asks?: string;
  readonly load: () => Promise<ComponentType>;
}

/** All that this build of the page has, in the order of the menu. */
export const panels = signal<readonly PanelRow[]>([]);
/** The operations of the assistant; undefined: not known yet. */
export const abilities = signal<ReadonlySet<string> | undefined>(undefined);

/** Those that this assistant can fill. */
export function shownPanels(): readonly PanelRow[] {
  const known = abilities.value;
  return panels.value.filter(({ asks }) => asks === undefined || known === undefined || known.has(asks));
}

export function panelNamed(name: string): PanelRow | undefined {
  return panels.value.find((row) => row.name === name);
}
