import type { App } from '../../src/core/app.ts';

/** An app with these services alone; reading another one throws. */
export function appWith(parts: Partial<App>): App {
  return new Proxy(parts as App, {
    get: (target, name) => {
      if (name in target || typeof name === 'symbol') return Reflect.get(target, name);
      throw new Error(`the app of this test has no ${name}`);
    },
  });
}
