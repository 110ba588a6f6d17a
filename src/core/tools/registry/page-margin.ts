/** Characters of a result that are left for what stands around a page of text. */
export const PAGE_MARGIN = 400;
