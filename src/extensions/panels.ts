import type { PanelRow } from '../page/state/panels.ts';

/** The panels of extensions, each loaded at the first look at it. */
export const PANELS: readonly PanelRow[] = [
  {
    name: 'schedule',
    title: 'Schedule',
    asks: 'cron',
    load: async () => (await import('./cron/page/schedule.tsx')).Schedule,
  },
];
