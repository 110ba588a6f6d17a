import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { ask, json, loggedIn, sentenceOf } from './net/http.ts';
import { Choice } from './parts/choice.tsx';
import { Icon } from './parts/icon.tsx';
import { shownPanels } from './state/panels.ts';
import { hashOf, place } from './state/place.ts';
import { chooseTheme, theme, type Theme } from './state/theme.ts';
import { announcement, conversation } from './state/app.ts';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/** Everything that is not the conversation. */
export function Menu(): VNode {
  const list = useRef<HTMLElement>(null);
  const close = (): void => list.current?.hidePopover();
  const to = place.value;
  const here = 'panel' in to ? to.panel : 'chat';
  const chat = { session: conversation.value.session };
  return (
    <>
      <button type="button" class="round" popovertarget="menu" aria-label="Menu" title="Menu">
        <Icon name="menu" />
      </button>
      <nav ref={list} id="menu" class="menu" popover="auto" aria-label="Menu">
        <ul>
          <li>
            <a href={hashOf(chat)} aria-current={here === 'chat' ? 'page' : undefined} onClick={close}>
              Chat
            </a>
          </li>
          {shownPanels().map(({ name, title }) => (
            <li key={name}>
              <a href={hashOf({ panel: name })} aria-current={here === name ? 'page' : undefined} onClick={close}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <ThemeChoice />
        <button type="button" class="line" onClick={() => void logOut()}>
          Log out
        </button>
      </nav>
    </>
  );
}

function ThemeChoice(): VNode {
  return (
    <Choice
      label="Appearance"
      options={THEMES}
      value={theme.value}
      choose={(name) => chooseTheme(THEMES.find(([one]) => one === name)?.[0] ?? 'system')}
    />
  );
}

async function logOut(): Promise<void> {
  try {
    await ask('/logout', json({}));
    loggedIn.value = false;
  } catch (error) {
    announcement.value = sentenceOf(error);
  }
}
