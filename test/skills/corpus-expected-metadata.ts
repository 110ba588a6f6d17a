import type { Expected } from './corpus-expected.ts';

/** Metadata, requirements and tools as they are written elsewhere. */
export const ODD_METADATA: Readonly<Record<string, Expected>> = {
  'yaml-map': {
    odd: 'all metadata as a YAML map',
    description: 'Takes notes on birds',
    begins: 'Listen.',
    facts: {
      primaryEnv: 'BIRD_KEY',
      homepage: 'https://example.org/birds',
      license: 'Apache-2.0',
      os: ['darwin', 'linux', 'win32'],
      install: ['brew: birdcall', 'npm: @birds/call', 'pip install birdcall', 'manual: Ask the forester'],
      installSteps: [
        { kind: 'brew', target: 'birdcall', bins: ['birdcall'], os: [] },
        { kind: 'npm', target: '@birds/call', bins: [], os: [] },
      ],
      requires: {
        bins: ['birdcall', 'g++'],
        anyBins: ['play', 'afplay'],
        env: ['BIRD_KEY'],
        config: ['channels.birds.token'],
      },
    },
    warns: [],
  },
  'json-lines': {
    odd: 'JSON over many lines with trailing commas',
    description: 'Takes notes on trees',
    begins: 'Look up.',
    facts: {
      install: ['go: example.org/treectl@latest'],
      installSteps: [{ kind: 'go', target: 'example.org/treectl@latest', bins: [], os: [] }],
      requires: { bins: ['treectl'], env: ['TREE_KEY'] },
    },
    warns: [],
  },
  'json-lines-outdented': {
    odd: 'JSON whose last brace stands at the margin',
    description: 'Takes notes on moss',
    begins: 'Look down.',
    facts: { always: true, license: 'MIT', requires: { anyBins: ['mossctl', 'moss'] } },
    warns: [],
  },
  'json-string': {
    odd: 'JSON in a string',
    description: 'Takes notes on stones',
    begins: 'Look around.',
    facts: { primaryEnv: 'STONE_KEY', requires: { bins: ['stonectl', 'hammer'] } },
    warns: [],
  },
  'json5-literal': {
    odd: 'JSON5 in a literal block',
    description: 'Takes notes on clouds',
    begins: 'Look far.',
    facts: { os: ['linux'], requires: { env: ['CLOUD_KEY'] } },
    warns: [],
  },
  'json5-comment-flow': {
    odd: 'JSON5 with a comment, beside broken YAML',
    description: 'Takes notes on rain: how much, and when',
    begins: 'Stay in.',
    facts: { homepage: 'https://example.org/rain', os: ['linux'] },
    warns: ['not valid YAML'],
  },
  'nanobot-always': {
    odd: 'always inside of the metadata',
    description: 'Is always there',
    begins: 'Always.',
    facts: { always: true, requires: { bins: ['curl'] } },
    warns: [],
  },
  'owners-do-not-merge': {
    odd: 'metadata for two assistants',
    description: 'Has two owners',
    begins: 'The first of the order counts.',
    facts: { requires: { env: ['NEW_KEY'] } },
    warns: [],
  },
  'broken-metadata': {
    odd: 'metadata that cannot be read',
    description: 'Has metadata that nobody can read',
    begins: 'Never mind.',
    warns: ['Its metadata is neither YAML nor JSON and was ignored.'],
  },
  'top-level-requires': {
    odd: 'requirements at the top level, snake case, words for booleans',
    description: 'Says its needs openly',
    begins: 'Select.',
    facts: {
      disableModelInvocation: true,
      userInvocable: false,
      primaryEnv: 'SQL_KEY',
      install: ['brew install sql'],
      requires: { bins: ['sql'], env: ['SQL_KEY'] },
    },
    warns: [],
  },
  'requires-as-list': {
    odd: 'requirements of no kind, a flag that is none, an unknown platform',
    description: 'Says its needs vaguely',
    begins: 'Hm.',
    facts: { os: ['linux'] },
    warns: [
      'Its always is neither true nor false and was ignored.',
      'Its requires does not say what kind of things it names: that part was ignored.',
      'Its platform plan9 is not known and was ignored.',
    ],
  },
  'tools-as-text': {
    odd: 'tools with spaces and commas in parentheses',
    description: 'May read and commit',
    begins: 'Commit.',
    facts: {
      allowedTools: [
        { tool: 'exec', commandPrefix: 'git add' },
        { tool: 'exec', commandPrefix: 'git commit' },
        { tool: 'read_file' },
        { tool: 'web_fetch' },
      ],
    },
    warns: [],
  },
  'tools-with-spaces': {
    odd: 'tools split by spaces',
    description: 'May list and search',
    begins: 'Search.',
    facts: {
      allowedTools: [
        { tool: 'read_file' },
        { tool: 'grep' },
        { tool: 'glob' },
        { tool: 'list_dir' },
        { tool: 'exec', commandPrefix: 'gh issue list' },
      ],
    },
    warns: [],
  },
  'tools-as-list': {
    odd: 'tools as a list, with foreign and unknown names',
    description: 'May look things up',
    begins: 'Look.',
    facts: {
      allowedTools: [
        { tool: 'exec', commandPrefix: 'git status' },
        { tool: 'edit_file' },
        { tool: 'apply_patch' },
        { tool: 'mcp_lake_depth' },
      ],
    },
    warns: ['Its allowed tool TodoWrite does not exist here and was ignored.'],
  },
  'tools-flow-split': {
    odd: 'tools that YAML splits at a comma',
    description: 'Has a comma where YAML splits',
    begins: 'Push.',
    facts: {
      allowedTools: [
        { tool: 'exec', commandPrefix: 'git add' },
        { tool: 'exec', commandPrefix: 'git push' },
        { tool: 'spawn' },
      ],
    },
    warns: [],
  },
  'tools-unknown-only': {
    odd: 'only tools that do not exist here',
    description: 'May do what nobody can do here',
    begins: 'Nothing.',
    facts: { allowedTools: [] },
    warns: [
      'Its allowed tool NotebookEdit does not exist here and was ignored.',
      'Its allowed tool TodoWrite does not exist here and was ignored.',
    ],
  },
  'tools-star': {
    odd: 'all tools, as an alias that YAML refuses',
    description: 'May do everything',
    begins: 'All.',
    warns: ['not valid YAML'],
  },
  'base-dir': {
    odd: 'its own folder in the text',
    description: 'Runs a script of its folder',
    begins: 'Run `python {baseDir}/scripts/run.py` or `$SKILL_DIR/run.sh`.',
    warns: [],
  },
};
