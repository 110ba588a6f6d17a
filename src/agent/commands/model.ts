import { errorMessage } from '../../util/errors.ts';
import type { ChatCommand, ModelChoice } from './command.ts';

export const modelCommand = (models: ModelChoice): ChatCommand => ({
  name: 'model',
  description: 'show which model answers here; `/model provider/name` changes it, `/model default` goes back',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { sessionKey }, args }) => {
    const chosen = models.chosen(sessionKey);
    if (args === '') {
      const here =
        chosen === null
          ? `The model here is the default, \`${models.standard}\`. \`/model provider/name\` changes it.`
          : `The model here is \`${chosen}\`; the default is \`${models.standard}\`. \`/model default\` goes back to it.`;
      const learned = models.learned(chosen ?? models.standard);
      if (learned.length === 0) return here;
      return [
        here,
        '',
        'Its server refused requests, so they are sent with:',
        ...learned.map((one) => `- ${one}`),
        '',
        `After a change of the server send \`/model ${chosen ?? 'default'}\`: then it is asked for all of that again.`,
      ].join('\n');
    }
    if (args.toLowerCase() === 'default') {
      models.forget(models.standard);
      await models.choose(sessionKey, null);
      return `From now on the default model, \`${models.standard}\`, answers here.`;
    }
    let name: string;
    try {
      name = models.fullName(args);
    } catch (error) {
      return `${errorMessage(error)} Nothing was changed.`;
    }
    models.forget(name);
    await models.choose(sessionKey, name);
    return `From now on \`${name}\` answers here.`;
  },
});
