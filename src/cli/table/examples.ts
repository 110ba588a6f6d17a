/**
 * Lines that the help of a command shows, by the words that call the command; each is a whole command line without the
 * name of the program. A test runs each through the parser.
 */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  gateway: ['gateway', 'gateway --port 8080 --home /srv/assistant'],
  chat: ['chat', 'chat -m "What is in my workspace?"', 'chat -m - --json < question.txt'],
  init: ['init', 'init --yes --provider ollama --model qwen3:8b'],
  status: ['status', 'status --json'],
  'service install': ['service install'],
  'service logs': ['service logs --follow'],
  prompt: ['prompt --full', 'prompt --session telegram:123456789'],
  'config get': ['config get agent.model'],
  'config set': ['config set agent.model anthropic/claude-sonnet-5-5', 'config set heartbeat.everyMinutes 60'],
  'config unset': ['config unset agent.model'],
  'store vacuum': ['store vacuum'],
  backup: ['backup', 'backup --out /media/usb/assistant.tar.gz'],
  restore: ['restore assistant-backup-2027-03-01T08-31-02.tar.gz'],
  'tools list': ['tools list'],
  'tools run': [`tools run read_file '{"path": "notes.md"}'`, `tools run exec '{"command": "date"}' --dry-run`],
  'sessions list': ['sessions', 'sessions list --last 100'],
  'sessions show': ['sessions show telegram:123456789 --last 5'],
  'sessions search': ['sessions search "train to Graz"', 'sessions search dentist --session telegram:123456789'],
  'sessions export': [
    'sessions export telegram:123456789 > conversation.md',
    'sessions export terminal:main --format json > conversation.json',
  ],
  'sessions delete': ['sessions delete telegram:123456789'],
  'memory show': ['memory', 'memory show 20261121T051000000Z'],
  'memory search': ['memory search dentist', 'memory search "train to Graz" --last 3'],
  'memory restore': ['memory restore 20261121T051000000Z'],
  'pair approve': [
    'pair approve K7QM2XWP',
    'pair approve K7QM2XWP --owner',
    'pair approve telegram:123456789 --trusted',
  ],
  'pair remove': ['pair remove telegram:123456789'],
  'cron add': [
    'cron add "in 20m" "Take the bread out"',
    'cron add "0 9 * * 1-5" "Summarise my unread mail" --kind agent --zone Europe/Vienna',
  ],
  'cron show': ['cron show take-the-bread-out'],
  'cron remove': ['cron remove take-the-bread-out'],
  'cron disable': ['cron disable take-the-bread-out'],
  'cron enable': ['cron enable take-the-bread-out'],
  'cron run': ['cron run take-the-bread-out'],
  'approvals forget': ['approvals forget 01K9ZQ3V5T8N'],
  'outbox retry': ['outbox retry 01K9ZQ3V5T8N'],
  'outbox drop': ['outbox drop 01K9ZQ3V5T8N'],
  'inbox retry': ['inbox retry 01K9ZQ3V5T8N'],
  'inbox drop': ['inbox drop 01K9ZQ3V5T8N'],
  usage: ['usage', 'usage --by model --days 7', 'usage --by job'],
  logs: ['logs --follow', 'logs --level warn --since 2h', 'logs --json --since 2027-03-01 > log.jsonl'],
  why: ['why telegram:123', 'why --since 2h'],
  undo: ['undo 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --dry-run', 'undo 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --yes'],
  'trace list': ['trace', 'trace list --last 5'],
  'trace show': ['trace show', 'trace show 01K9ZQ3V5T8N0M2R4W6Y8ABCDE'],
  'trace save': ['trace save 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --out traces/weather.jsonl'],
  'trace replay': ['trace replay traces/weather.jsonl', 'trace replay traces/weather.jsonl --model-live'],
  'trace test': ['trace test traces', 'trace test traces --model openai/gpt-5-mini'],
  audit: ['audit --asked', 'audit --about "rm -rf"'],
  'mcp test': ['mcp test github'],
  'mcp trust': ['mcp trust github'],
  'skills show': ['skills show weather'],
  'skills check': ['skills check', 'skills check ~/Downloads/weather'],
  'skills new': ['skills new invoices --description "Write invoices from the time sheet"'],
  'skills test': ['skills test weather', 'skills test weather --model openai/gpt-5-mini --budget 0.2'],
  'skills try': ['skills try weather "Do I need an umbrella in Lisbon?"'],
  'skills add': ['skills add ~/Downloads/weather'],
  'skills enable': ['skills enable weather', 'skills enable --all'],
  'skills remove': ['skills remove weather'],
  completion: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/assistant.fish'],
};

/** The examples of a command, by the words that call it; where its line says it all, that line. */
export function examplesOf(path: readonly string[]): readonly string[] {
  const words = path.join(' ');
  return EXAMPLES[words] ?? [words];
}
