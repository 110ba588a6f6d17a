import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { Logo } from './parts/icon.tsx';
import { ask, json, loggedIn, sentenceOf } from './net/http.ts';

const problem = signal('');
const isBusy = signal(false);

/** Takes the code of a login link out of the address and logs in with it. */
export async function loginFromAddress(): Promise<void> {
  const [, code] = /^#login=(.+)$/u.exec(location.hash) ?? [];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname);
  await login({ code });
}

async function login(secret: { readonly code: string } | { readonly token: string }): Promise<void> {
  isBusy.value = true;
  problem.value = '';
  try {
    await ask('/login', json(secret));
    loggedIn.value = true;
  } catch (error) {
    problem.value = sentenceOf(error);
    loggedIn.value = false;
  } finally {
    isBusy.value = false;
  }
}

/** Asks for the token, where no login link was opened. */
export function Login(): VNode {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const token = new FormData(event.currentTarget).get('token');
    if (typeof token === 'string' && token.trim() !== '') void login({ token: token.trim() });
  };
  return (
    <main class="login">
      <Logo />
      <h1>Open your assistant</h1>
      <p>
        Run <code>assistant page</code> on the machine where it’s installed. It prints a link that logs this browser in
        once. Or paste the token here: it’s in <code>gateway.token</code> in the assistant’s home folder, or in its
        configuration.
      </p>
      <form onSubmit={submit}>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
        <button type="submit" class="main" disabled={isBusy.value}>
          {isBusy.value ? 'Logging in …' : 'Log in'}
        </button>
      </form>
      <p class="problem" role="alert">
        {problem.value}
      </p>
    </main>
  );
}
