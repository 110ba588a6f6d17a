import { ApiError } from './errors.ts';

/** The assistant with its tools and its memory. */
export const ASSISTANT = 'assistant';
/** The same model without tools and with a prompt of one sentence, for the titles and tags of front ends. */
export const LIGHT = 'assistant-light';

interface ModelObject {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

/** What `GET /v1/models` lists. */
export const MODELS: readonly ModelObject[] = [ASSISTANT, LIGHT].map((id) => ({
  id,
  object: 'model',
  created: 1_780_000_000,
  owned_by: ASSISTANT,
}));

/** The model of this id. Throws `model_not_found`, and says which there are. */
export function modelNamed(id: string): ModelObject {
  const found = MODELS.find((model) => model.id === id);
  if (found !== undefined) return found;
  const named = JSON.stringify(id.slice(0, 80));
  throw new ApiError(404, `There is no model ${named}. There are: ${MODELS.map((model) => model.id).join(', ')}.`, {
    code: 'model_not_found',
    param: 'model',
  });
}
