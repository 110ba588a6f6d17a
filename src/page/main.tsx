import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { loginFromAddress } from './login.tsx';
import { loggedIn } from './net/http.ts';
import { start } from './state/app.ts';
import { applyTheme } from './state/theme.ts';

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
