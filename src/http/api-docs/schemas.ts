import type { TSchema } from 'typebox';

/** A JSON Schema as plain data: typebox schemas are just that. */
export type JsonSchema = {
  $id?: string;
  type?: string;
  const?: unknown;
  enum?: readonly string[];
  description?: string;
  pattern?: string;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  patternProperties?: Record<string, JsonSchema>;
};

/** The schema as plain data. */
export const plain = (schema: TSchema): JsonSchema => schema as JsonSchema;

const childrenOf = (schema: JsonSchema): readonly JsonSchema[] => [
  ...Object.values(schema.properties ?? {}),
  ...(schema.items ? [schema.items] : []),
  ...(schema.anyOf ?? []),
  ...Object.values(schema.patternProperties ?? {}),
];

/** Puts the named models that a schema holds, itself among them, into `models` by name; those there stay. */
export function collectModels(schema: JsonSchema, models: Map<string, JsonSchema>): void {
  if (schema.$id !== undefined && schema.properties) {
    if (models.has(schema.$id)) return;
    models.set(schema.$id, schema);
  }
  for (const child of childrenOf(schema)) collectModels(child, models);
}

/** The type in the words of Swagger 1.2: `string`, `int`, `List[Channel]` … */
export function swaggerType(schema: JsonSchema): string {
  if (schema.$id === 'Timestamp') return 'Date';
  if (schema.$id === 'binary') return 'binary';
  if (schema.$id !== undefined && schema.properties) return schema.$id;
  if (schema.type === 'array') return `List[${schema.items ? swaggerType(schema.items) : 'object'}]`;
  if (schema.anyOf) return schema.anyOf.some(({ type }) => type === 'integer') ? 'long' : 'object';
  if (schema.enum || schema.const !== undefined) return 'string';
  const words: Record<string, string> = { integer: 'int', number: 'double', boolean: 'boolean', string: 'string' };
  return words[schema.type ?? ''] ?? 'object';
}

/** A copy in which named models below the top are references into `prefix`. */
export function withReferences(schema: JsonSchema, prefix: string, top = true): object {
  const { $id, properties, items, anyOf, patternProperties, ...rest } = schema;
  if (!top && $id !== undefined && properties) return { $ref: `${prefix}${$id}` };
  const each = (children: Record<string, JsonSchema>) =>
    Object.fromEntries(Object.entries(children).map(([name, child]) => [name, withReferences(child, prefix, false)]));
  return {
    ...rest,
    ...(properties && { properties: each(properties) }),
    ...(items && { items: withReferences(items, prefix, false) }),
    ...(anyOf && { anyOf: anyOf.map((child) => withReferences(child, prefix, false)) }),
    ...(patternProperties && { additionalProperties: each(patternProperties)['^.*$'] ?? true }),
  };
}
