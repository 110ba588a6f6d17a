/** One setting of a git configuration file. */
export interface GitSetting {
  /** As git compares it: section and name in lower case, the part between them as it is written. */
  readonly key: string;
  /** `true` for a name without a value. */
  readonly value: string;
  /** Where it stands in the text. */
  readonly start: number;
  readonly end: number;
}

/** The settings of a file in their order; null for what git cannot read either. */
export function readGitSettings(text: string): readonly GitSetting[] | null {
  const settings: GitSetting[] = [];
  let section = '';
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const char = text[at] ?? '';
    if (/\s/u.test(char)) {
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
      settings.push({ key: `${section}.${(name[1] ?? '').toLowerCase()}`, start: at, ...value });
      at = value.end;
    }
  }
  return settings;
}

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
      return quoted ? null : { value: value.slice(0, Math.max(kept, value.trimEnd().length)), end };
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
    } else if (quoted || value !== '' || !/\s/u.test(char)) {
      value += char;
      if (quoted) kept = value.length;
    }
  }
}

/** Settings that never make git run a program, with any value. */
const PLAIN = new Set(
  [
    'core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar core.compression core.eol core.filemode core.hidedotfiles core.ignorecase core.logallrefupdates core.longpaths core.precomposeunicode core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex core.symlinks core.trustctime core.untrackedcache core.whitespace',
    'branch.autosetupmerge branch.autosetuprebase branch.sort clone.defaultremotename column.ui commit.cleanup commit.gpgsign commit.status commit.verbose diff.algorithm diff.colormoved diff.context diff.interhunkcontext diff.mnemonicprefix diff.noprefix diff.renamelimit diff.renames diff.submodule diff.wserrorhighlight',
    'fetch.fsckobjects fetch.prune fetch.prunetags fetch.recursesubmodules fetch.writecommitgraph format.pretty gc.auto gc.autodetach gpg.format grep.linenumber help.autocorrect init.defaultbranch log.abbrevcommit log.date log.decorate log.follow log.showsignature merge.autostash merge.conflictstyle merge.ff merge.log merge.renames pack.threads pull.ff pull.octopus pull.rebase push.autosetupremote push.default push.followtags push.gpgsign',
    'rebase.autosquash rebase.autostash rebase.updaterefs receive.denycurrentbranch rerere.autoupdate rerere.enabled stash.showpatch status.branch status.short status.showstash status.showuntrackedfiles status.submodulesummary submodule.active submodule.recurse tag.gpgsign tag.sort transfer.fsckobjects worktree.guessremote',
  ].flatMap((line) => line.split(' ')),
);
const PLAIN_SECTION = /^(?:user|author|committer|color|advice|extensions)\./u;
const PLAIN_OF_EACH =
  /^(?:remote\..+\.(?:fetch|push|mirror|tagopt|prune|prunetags|promisor|partialclonefilter)|branch\..+\.(?:merge|rebase|description)|submodule\..+\.(?:active|branch|ignore|shallow|fetchrecursesubmodules))$/su;
/** Values with which these run nothing that a workspace could hold. */
const PLAIN_VALUES: Readonly<Record<string, RegExp>> = {
  'core.fsmonitor': /^(?:|true|false|yes|no|on|off|[01])$/iu,
  'core.editor': /^(?:vi|vim|nvim|nano|emacs|micro|hx|true|code --wait)$/u,
  'sequence.editor': /^(?:vi|vim|nvim|nano|emacs|micro|hx|true|code --wait)$/u,
  'core.pager': /^(?:|less|more|cat|delta|less -[A-Za-z]+)$/u,
  'credential.helper': /^(?:|store|cache|osxkeychain|manager|libsecret)$/u,
};

/** Settings that name a place whose files git reads or writes. */
const PLACE =
  /^(?:core\.(?:worktree|excludesfile)|remote\..+\.(?:url|pushurl)|submodule\..+\.url|branch\..+\.(?:remote|pushremote)|remote\.pushdefault)$/su;
/** Of these only some values are paths: as git tells them apart, a colon before the first slash makes an address. */
const PATH_OR_ADDRESS = /^(?:file:|[^/:]*(?:\/|$))/iu;

/** Whether a place that a setting names is outside the workspace; it may be relative to the folder of the settings file. */
export type LeadsOut = (place: string, key: string) => boolean;

const mayLeadOut: LeadsOut = (place) => /^[/~]|(?:^|\/)\.\.(?:\/|$)/u.test(place);

/**
 * Whether a setting may make git run a program, now or at the owner's next `git status`, or turn git against files outside
 * the workspace. Settings that aren't known to be harmless count as such.
 * `leadsOut`: @default every absolute place and every one with `..`
 */
export function makesGitRun(
  { key, value }: Pick<GitSetting, 'key' | 'value'>,
  leadsOut: LeadsOut = mayLeadOut,
): boolean {
  if (PLACE.test(key)) {
    const isPath = key.startsWith('core.') ? value !== '' : PATH_OR_ADDRESS.test(value);
    return isPath && leadsOut(value.replace(/^file:(?:\/\/(?:localhost(?=\/))?)?/iu, ''), key);
  }
  if (PLAIN.has(key) || PLAIN_SECTION.test(key) || PLAIN_OF_EACH.test(key)) return false;
  if (/^pager\.[^.]+$/u.test(key)) return !/^(?:true|false)$/iu.test(value);
  if (/^submodule\..+\.update$/su.test(key)) return value.startsWith('!');
  return PLAIN_VALUES[key]?.test(value) !== true;
}

/** The text without the settings for which `makesGitRun` holds; empty where it cannot be read. */
export function withoutPrograms(text: string, leadsOut: LeadsOut): string {
  const runs = (setting: GitSetting): boolean => makesGitRun(setting, leadsOut);
  const settings = readGitSettings(text);
  if (settings === null) return '';
  let rest = text;
  for (const { start, end } of settings.filter(runs).toReversed()) rest = rest.slice(0, start) + rest.slice(end);
  return readGitSettings(rest)?.some(runs) === false ? rest : '';
}
