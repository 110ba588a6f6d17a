import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { loginFromAddress } from './login.tsx';
import { loggedIn } from './net/http.ts';
import { start } from './state/app.ts';
import { PANELS } from '../extensions/panels.ts';
import { panels, type PanelRow } from './state/panels.ts';
import { applyTheme } from './state/theme.ts';

/** The core's own, and where those of extensions stand among them. */
const OWN: readonly PanelRow[] = [
  { name: 'memory', title: 'Memory & identity', load: async () => (await import('./panels/memory.tsx')).Memory },
  { name: 'skills', title: 'Skills', load: async () => (await import('./panels/skills.tsx')).Skills },
  ...PANELS,
  { name: 'usage', title: 'Usage', load: async () => (await import('./panels/usage.tsx')).Usage },
  { name: 'people', title: 'People', load: async () => (await import('./panels/people.tsx')).People },
  { name: 'health', title: 'Health', load: async () => (await import('./panels/health.tsx')).Health },
  { name: 'why', title: 'Why', load: async () => (await import('./panels/why.tsx')).Why },
];

panels.value = OWN;
applyTheme();
// Before anything is drawn or asked: what is asked without the cookie would lead to the login.
await loginFromAddress();
const root = document.getElementById('page');
if (root !== null) render(<App />, root);

let stop: (() => void) | undefined;
effect(() => {
  if (loggedIn.value === false) {
    stop?.();
    stop = undefined;
  } else stop ??= start();
});
