/** An answer that is no JSON: a text of some type, with headers of its own; without a text nothing but these. */
export type TextAnswer = {
  readonly status: 200 | 201 | 204;
  readonly type?: string;
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
};
