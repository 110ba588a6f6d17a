import { searchText } from '../../app/memory/embedder.ts';
import type { App } from '../app.ts';
import type { AssistantInfo } from '../gateway/assistant-info.ts';
import { speechStateOf } from '../program.ts';
import { cleanHealth, healthOfChannelsOff } from './channels.ts';
import { findingsOf } from './health.ts';
import { sentenceOf } from '../util/finding.ts';
import { fullName } from './models.ts';
import { storageLine } from './status.ts';

/** Which assistant runs, and how it is. */
export async function infoOf(app: App): Promise<AssistantInfo> {
  const { config, paths, clock, version, startedAt } = app;
  const { voice, speech } = speechStateOf(app);
  const findings = await findingsOf(app);
  return {
    version,
    pid: process.pid,
    home: paths.home,
    model: fullName(app.models.standard),
    channels: { ...cleanHealth(app), ...healthOfChannelsOff(config) },
    findings,
    warnings: findings.map(sentenceOf),
    ...(app.further.shared === null ? {} : { agents: app.further.list() }),
    storage: storageLine(app.journal.retention.last(), clock.now()),
    ...(app.stored.facts === undefined ? {} : { store: app.stored.facts() }),
    turns: app.turns.running.length,
    startedAt,
    voice,
    speech,
    search: searchText(app, app.search.meaning),
    http: app.http.address,
  };
}
