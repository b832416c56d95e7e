import Type, {
  type Static,
  type TEnum,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from 'typebox';

/** Short words for the schemas of plain data that is saved. Types follow from them: `Static<typeof Schema>`. */

export const text = Type.String();
export const number = Type.Number();
export const count = Type.Integer({ minimum: 0 });
export const flag = Type.Boolean();
/** Present and true, or left out. */
export const marked = Type.Optional(Type.Literal(true));
export const textMap = Type.Record(text, text);
export const optional = Type.Optional;
export const object = Type.Object;
export const either = Type.Union;
export const literal = Type.Literal;
export const nothing = Type.Null();
export const pair = Type.Immutable(Type.Tuple([text, text]));
/** Values by names of any kind. */
export const byName = <S extends TSchema>(value: S) => Type.Record(text, value);

/** An optional member that may also be there and undefined. */
export const maybe = <S extends TSchema>(schema: S) =>
  Type.Optional(schema) as unknown as TOptional<TUnsafe<Static<S> | undefined>>;

/** A list that is replaced, never changed. */
export const list = <S extends TSchema>(element: S) => Type.Immutable(Type.Array(element));

/** The same with at least one element. */
export const some = <S extends TSchema>(element: S) => Type.Immutable(Type.Array(element, { minItems: 1 }));

export const oneOf = <W extends string[]>(...words: readonly [...W]) => Type.Enum([...words]) as unknown as TEnum<W>;

/** A text with a narrower type. The check takes any text: other versions may have other words. */
export const word = <W extends string>() => text as unknown as TUnsafe<W>;

/** The object with more members, or others of the same name. */
export const extended = <A extends TProperties, B extends TProperties>(base: { properties: A }, more: B) =>
  Type.Object({ ...base.properties, ...more }) as unknown as TObject<Omit<A, keyof B> & B>;
