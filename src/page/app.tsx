import type { VNode } from 'preact';
import { Login } from './login.tsx';
import { loggedIn } from './net/http.ts';
import { Shell } from './shell.tsx';
import { announcement } from './state/app.ts';
import { shown } from './text/shown.ts';

/** The whole page. */
export function App(): VNode {
  return (
    <>
      {loggedIn.value === false ? <Login /> : <Shell />}
      <p class="unseen" role="status">
        {shown(announcement.value)}
      </p>
    </>
  );
}
