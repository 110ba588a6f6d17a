/** Puts a skill's folder in place of `{baseDir}`, `$SKILL_DIR` and `${SKILL_DIR}`; `${baseDir}` is somebody else's. */
export function substitute(body: string, place: { readonly baseDir: string }): string {
  return body.replace(/(?<!\$)\{baseDir\}|\$\{SKILL_DIR\}|\$SKILL_DIR(?!\w)/gu, () => place.baseDir);
}
