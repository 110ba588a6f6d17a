import type { App } from '../../app.ts';
import { factText } from '../../providers/learned.ts';
import { errorMessage } from '../../util/errors.ts';
import { localTime } from '../../util/time-zone.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import type { ChatCommand } from './command.ts';

export const modelCommand = ({ models, journal: { settings }, config }: App): ChatCommand => ({
  name: 'model',
  description: 'show which model answers here; `/model provider/name` changes it, `/model default` goes back',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { sessionKey }, args }) => {
    const chosen = settings.model(sessionKey);
    const standard = nameOf(models.standard);
    if (args === '') {
      const here =
        chosen === null
          ? `The model here is the default, \`${standard}\`. \`/model provider/name\` changes it.`
          : `The model here is \`${chosen}\`; the default is \`${standard}\`. \`/model default\` goes back to it.`;
      const learned = models.learned.of(chosen ?? standard).flatMap((fact) => {
        const text = factText(fact);
        return text === null ? [] : [`- ${text} (since ${localTime(fact.at, config.agent.timezone).date})`];
      });
      if (learned.length === 0) return here;
      return [
        here,
        '',
        'Its server refused requests, so they are sent with:',
        ...learned,
        '',
        `After a change of the server send \`/model ${chosen ?? 'default'}\`: then it is asked for all of that again.`,
      ].join('\n');
    }
    if (args.toLowerCase() === 'default') {
      models.learned.forget(standard);
      await settings.setModel(sessionKey, null);
      return `From now on the default model, \`${standard}\`, answers here.`;
    }
    let name: string;
    try {
      name = models.fullName(args);
    } catch (error) {
      return `${errorMessage(error)} Nothing was changed.`;
    }
    models.learned.forget(name);
    await settings.setModel(sessionKey, name);
    return `From now on \`${name}\` answers here.`;
  },
});

function nameOf({ providerName, model }: ChosenModel): string {
  return `${providerName}/${model}`;
}
