import type { VNode } from 'preact';

const PATHS = {
  menu: 'M4 7h16M4 12h16M4 17h16',
  list: 'M4 5h16v14H4zM9.500 5v14',
  new: 'M12 5v14M5 12h14',
  attach:
    'M20 11.500l-8.200 8.200a5 5 0 0 1-7.100-7.100l8.300-8.300a3.300 3.300 0 0 1 4.700 4.700l-8.200 8.200a1.700 1.700 0 0 1-2.400-2.400l7.500-7.500',
  voice:
    'M12 3.500a2.800 2.800 0 0 1 2.800 2.800v5a2.800 2.800 0 0 1-5.600 0v-5A2.800 2.800 0 0 1 12 3.500zM5.500 11a6.500 6.500 0 0 0 13 0M12 17.500V21',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  close: 'M6 6l12 12M18 6L6 18',
  chat: 'M5 5h14a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1h-8l-4 3.500V17H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z',
  down: 'M12 5v14M6 13l6 6 6-6',
  fold: 'M9 6l6 6-6 6',
  search: 'M11 4.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.800 15.800L20 20',
} as const;

/** A small drawing beside or in place of words; screen readers do not see it. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo(): VNode {
  return <img class="logo" src="/icon.svg" alt="" width="44" height="44" />;
}
