// A text on its way from one page to another. It stays in the window: it may hold what must not be kept.
let draft = null;

// keepDraft keeps a text for the page that is opened next.
export const keepDraft = (text) => { draft = text; };

// takeDraft returns it once; null when there is none.
export const takeDraft = () => {
  const text = draft;
  draft = null;
  return text;
};
