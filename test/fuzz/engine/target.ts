// SPDX-License-Identifier: Apache-2.0
// What a fuzz target is: a parser that reads foreign bytes, and the properties that hold for every input.

/** One parser under test. */
export interface Target {
  /** Folders below `packages/` whose code counts as coverage. */
  readonly covers: readonly string[];
  /** Tokens of the format. Mutations insert them. */
  readonly dictionary: readonly string[];
  /** The first inputs. Stored files in `corpus/<target>/` are added to them. */
  readonly seeds: ReadonlyArray<string | Uint8Array>;
  /** Inputs are not grown beyond this. Default 4096. */
  readonly maxBytes?: number;
  /** Repeated structures by name. Reading one of twice the size may take at most about three times as long. */
  readonly growth?: Readonly<Record<string, (count: number) => string | Uint8Array>>;
  /** Parses one input. Throws when a property does not hold; refusals of the parser itself do not throw. */
  run(input: Buffer): void | Promise<void>;
  /** Releases what the target holds. */
  close?(): Promise<void>;
}

/** A property that does not hold. */
export class PropertyError extends Error {
  override readonly name = "PropertyError";
}

/** Throws a {@link PropertyError} unless the condition holds. */
export function property(holds: boolean, text: string): asserts holds {
  if (!holds) throw new PropertyError(text);
}

type Check = (error: unknown) => boolean;

/** The result of a parser; undefined when it refuses its input with one of its own errors. Any other error is a finding. */
export function accepted<T>(parse: () => T, isOwn: Check): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (isOwn(error)) return undefined;
    throw error;
  }
}

/** {@link accepted} for a parser that is asynchronous. */
export async function acceptedAsync<T>(parse: () => Promise<T>, isOwn: Check): Promise<T | undefined> {
  try {
    return await parse();
  } catch (error) {
    if (isOwn(error)) return undefined;
    throw error;
  }
}

/** Errors of the language are bugs wherever they come from. A plain Error with a message is a refusal. */
export const isRefusal: Check = (error) =>
  error instanceof Error &&
  !(error instanceof PropertyError) &&
  ![TypeError, RangeError, ReferenceError, EvalError].some((bug) => error instanceof bug) &&
  error.message !== "";

/** What `Object.prototype` and its siblings have before any input is read. */
const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype].map((prototype) => ({
  prototype,
  names: Reflect.ownKeys(prototype).length,
}));

/** Throws when an input changed a prototype that every object has. */
export function requireCleanPrototypes(): void {
  for (const { prototype, names } of prototypes) {
    property(Reflect.ownKeys(prototype).length === names, "an input changed a built-in prototype");
  }
}
