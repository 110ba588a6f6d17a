import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'assistant.theme';

export const theme = signal<Theme>(kept());

/** Shows the page as chosen; `system` follows the device. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.value;
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  applyTheme();
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // A browser without a store forgets it with the tab.
  }
}

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}
