import { strToU8, zipSync } from 'fflate';

/** An archive of these parts, by their names. */
function archiveOf(parts: Readonly<Record<string, string>>): Uint8Array {
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])));
}

function relations(targets: readonly (readonly [type: string, target: string])[]): string {
  const rows = targets.map(
    ([type, target], n) =>
      `<Relationship Id="rId${n + 1}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`,
  );
  return `<?xml version="1.0"?><Relationships>${rows.join('')}</Relationships>`;
}

/** A workbook; `sheets`: the attributes of each with what is in its `sheetData`. */
export function workbook(
  sheets: readonly { readonly attributes: string; readonly rows: string }[],
  more: Readonly<Record<string, string>> = {},
  properties = '',
): Uint8Array {
  const names = sheets.map(({ attributes }, n) => `<sheet ${attributes} sheetId="${n + 1}" r:id="rId${n + 1}"/>`);
  return archiveOf({
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook><workbookPr ${properties}/><sheets>${names.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(sheets.map((_, n) => ['worksheet', `worksheets/sheet${n + 1}.xml`])),
    ...Object.fromEntries(
      sheets.map(({ rows }, n) => [
        `xl/worksheets/sheet${n + 1}.xml`,
        `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...more,
  });
}

/** A presentation; `notes` null: the slide has none. */
export function presentation(
  slides: readonly { readonly shapes: string; readonly notes?: string; readonly attributes?: string }[],
): Uint8Array {
  const ids = slides.map((_, n) => `<p:sldId id="${n + 256}" r:id="rId${n + 1}"/>`);
  const parts = slides.flatMap(({ shapes, notes, attributes = '' }, n) => [
    [`ppt/slides/slide${n + 1}.xml`, `<p:sld ${attributes}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`],
    ...(notes === undefined
      ? []
      : [
          [`ppt/slides/_rels/slide${n + 1}.xml.rels`, relations([['notesSlide', `../notesSlides/notes${n + 1}.xml`]])],
          [`ppt/notesSlides/notes${n + 1}.xml`, `<p:notes>${notes}</p:notes>`],
        ]),
  ]);
  return archiveOf({
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relations(slides.map((_, n) => ['slide', `/ppt/slides/slide${n + 1}.xml`])),
    ...Object.fromEntries(parts),
  });
}

/** A shape with paragraphs, `type`: what it holds the place of. */
export function shape(type: string, ...paragraphs: readonly string[]): string {
  const body = paragraphs.map((text) => (text.startsWith('<') ? text : `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`));
  return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody>${body.join('')}</p:txBody></p:sp>`;
}
