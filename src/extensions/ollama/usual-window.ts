/** Tokens of context that a model is loaded with where nothing says how many: the prompt, all tools and a conversation fit. */
export const USUAL_WINDOW = 32_768;
