/** One setting of a git configuration file. Texts have one character per byte (latin1). */
export interface GitSetting {
  /** As git compares it: section and name in lower case, the part between them as it is written. */
  readonly key: string;
  /** `true` for a name without a value. */
  readonly value: string;
}

/** The settings of a file in their order; null for what git can't read either. */
export function readGitSettings(text: string): readonly GitSetting[] | null {
  const settings: GitSetting[] = [];
  let section = '';
  let at = text.startsWith('\u00EF\u00BB\u00BF') ? 3 : 0;
  while (at < text.length) {
    const char = text[at] ?? '';
    if (SPACE.test(char)) {
      at += 1;
    } else if (char === '#' || char === ';') {
      const newline = text.indexOf('\n', at);
      at = newline < 0 ? text.length : newline;
    } else if (char === '[') {
      const header = match(SECTION, text, at);
      if (header === null) return null;
      const [all, name = '', sub] = header;
      section = name.toLowerCase() + (sub === undefined ? '' : `.${sub.replaceAll(/\\(.)/gu, '$1')}`);
      at += all.length;
    } else {
      const name = match(NAME, text, at);
      if (name === null || section === '') return null;
      const value =
        name[2] === undefined ? { value: 'true', end: at + name[0].length } : readValue(text, at + name[0].length);
      if (value === null) return null;
      settings.push({ key: `${section}.${(name[1] ?? '').toLowerCase()}`, value: value.value });
      at = value.end;
    }
  }
  return settings;
}

/** Only these are white space to git. */
const SPACE = /[ \t\r\n]/u;
const SECTION = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/uy;
const NAME = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:(=)|(?=\r?\n|$)|(?=[#;]))/uy;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\' };

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Quotes, escapes, comments and lines that go on, up to the end of the line. */
function readValue(text: string, start: number): { readonly value: string; readonly end: number } | null {
  let value = '';
  let kept = 0;
  let quoted = false;
  for (let at = start; ; at += 1) {
    const char = text[at] ?? '\n';
    if (char === '\n' || (!quoted && (char === '#' || char === ';'))) {
      const newline = text.indexOf('\n', at);
      const end = newline < 0 ? text.length : newline;
      return quoted ? null : { value: value.slice(0, Math.max(kept, value.replace(/[ \t\r]+$/u, '').length)), end };
    }
    if (char === '"') {
      quoted = !quoted;
    } else if (char === '\\') {
      at += text.startsWith('\r\n', at + 1) ? 2 : 1;
      const next = text[at] ?? '';
      if (next === '\n') continue;
      const meant = ESCAPED[next];
      if (meant === undefined) return null;
      value += meant;
      kept = value.length;
    } else if (quoted || value !== '' || !SPACE.test(char)) {
      value += char;
      if (quoted) kept = value.length;
    }
  }
}

/** What `git init`, `clone`, branches and `push -u` write, and the settings of everyday work that run nothing. */
const PLAIN = new Set(
  [
    'core.abbrev core.autocrlf core.bare core.compression core.eol core.filemode core.ignorecase core.logallrefupdates core.longpaths core.precomposeunicode core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.symlinks core.untrackedcache core.whitespace',
    'branch.autosetupmerge branch.autosetuprebase commit.gpgsign fetch.prune gc.auto init.defaultbranch merge.conflictstyle merge.ff pull.ff pull.rebase push.autosetupremote push.default push.followtags rebase.autosquash rebase.autostash rerere.enabled submodule.active submodule.recurse tag.gpgsign',
  ].flatMap((line) => line.split(' ')),
);
const PLAIN_SECTION = /^(?:user|author|committer|color|advice|extensions)\./u;
const PLAIN_OF_EACH =
  /^(?:remote\..+\.(?:fetch|push|mirror|tagopt|prune|prunetags|promisor|partialclonefilter)|branch\..+\.(?:merge|rebase|description)|submodule\..+\.(?:active|branch))$/su;
/** Values with which these run nothing that a workspace could hold. */
const PLAIN_VALUES: Readonly<Record<string, RegExp>> = {
  'core.fsmonitor': /^(?:|true|false|yes|no|on|off|[01])$/iu,
  'core.editor': /^(?:vi|vim|nvim|nano|emacs|micro|true|code --wait)$/u,
  'core.pager': /^(?:|less|more|cat|less -[A-Za-z]+)$/u,
  'credential.helper': /^(?:|store|cache|osxkeychain|manager|libsecret)$/u,
};

/** Settings that name a place whose files git reads or writes. */
const PLACE =
  /^(?:core\.(?:worktree|excludesfile)|remote\..+\.(?:url|pushurl)|submodule\..+\.url|branch\..+\.(?:remote|pushremote)|remote\.pushdefault)$/su;
/** Of these only some values are paths: as git tells them apart, a colon before the first slash makes an address. */
const PATH_OR_ADDRESS = /^(?:file:|[^/:]*(?:\/|$))/iu;
/** `ext::sh -c …`: a program that carries the data. */
const REMOTE_HELPER = /^[A-Za-z0-9+.-]*::/u;

/** True if a place that a setting names is outside the workspace. */
export type LeadsOut = (place: string, key: string) => boolean;

/**
 * True if a setting may make git run a program or turns git against files outside the workspace. Unknown settings count
 * as such.
 */
export function makesGitRun({ key, value }: GitSetting, leadsOut: LeadsOut): boolean {
  if (PLACE.test(key)) {
    if (REMOTE_HELPER.test(value)) return true;
    const isPath = key.startsWith('core.') ? value !== '' : PATH_OR_ADDRESS.test(value);
    return isPath && leadsOut(pathOf(value), key);
  }
  if (PLAIN.has(key) || PLAIN_SECTION.test(key) || PLAIN_OF_EACH.test(key)) return false;
  if (/^pager\.[^.]+$/u.test(key)) return !/^(?:true|false)$/iu.test(value);
  if (/^submodule\..+\.update$/su.test(key)) return value.startsWith('!');
  return PLAIN_VALUES[key]?.test(value) !== true;
}

/** Git decodes `%2e` in the addresses of files. */
function pathOf(value: string): string {
  const [scheme = ''] = /^file:(?:\/\/(?:localhost(?=\/))?)?/iu.exec(value) ?? [];
  if (scheme === '') return value;
  return value
    .slice(scheme.length)
    .replaceAll(/%([0-9a-f]{2})/giu, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
