/**
 * Gives the classes of an SDK's errors their names as `name`, by which `errors.ts` knows them without loading the SDK. They
 * set none themselves, and in a bundle a class may be called otherwise.
 */
export function nameErrors(classes: Readonly<Record<string, abstract new (...args: never) => Error>>): void {
  for (const [name, kind] of Object.entries(classes))
    Object.defineProperty(kind.prototype, 'name', { value: name, configurable: true, writable: true });
}
