// SPDX-License-Identifier: Apache-2.0
// Random expressions of macros inside each other, for properties of evaluation. They are well typed whatever stands where: each
// name is a variable of the same type outside of all macros, too.
import fc from "fast-check";

type Terms = Record<"int" | "bool" | "list" | "map", string>;

/** The names of variables; macros hide them. */
const [ints, lists] = [fc.constantFrom("a", "b", "c"), fc.constantFrom("m", "n")];

/** A term of parts, put together by a text with `$0`, `$1` and so on. */
function term(text: string, ...parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((values) => text.replace(/\$(\d)/g, (_, index: string) => values[Number(index)] ?? ""));
}

export interface RandomExpressionOptions {
  /** Whether there is `cel.bind`. */
  readonly hasBindings: boolean;
  /** More terms of type int, bool, list or map. */
  readonly leaves?: Partial<Record<keyof Terms, readonly string[]>>;
}

/** Expressions of the types bool, int, list(int) and map(int, int), over a, b and c of type int and m, n and self of type list(int). */
export function randomExpressions({ hasBindings, leaves = {} }: RandomExpressionOptions): fc.Arbitrary<string> {
  const depth = fc.createDepthIdentifier();
  const { int, bool, list, map } = fc.letrec<Terms>((tie) => {
    const [i, b, l, o] = [tie("int"), tie("bool"), tie("list"), tie("map")];
    const oneOf = (type: keyof Terms, ...all: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
      fc.oneof(
        { maxDepth: 5, depthIdentifier: depth, withCrossShrink: true },
        fc.constantFrom(...own[type], ...(leaves[type] ?? [])),
        ...all,
      );
    const bound = (type: fc.Arbitrary<string>): readonly fc.Arbitrary<string>[] => [
      ...(hasBindings
        ? [term("cel.bind($0, $1, $2)", ints, i, type), term("cel.bind($0, $1, $2)", lists, l, type)]
        : []),
      term("optional.of($1).optMap($0, $2).orValue($3)", lists, l, type, type),
      term(
        "optional.of($1).optFlatMap($0, $2 ? optional.of($3) : optional.none()).orValue($4)",
        ints,
        i,
        b,
        type,
        type,
      ),
      term("($0 ? $1 : $2)", b, type, type),
    ];
    return {
      int: oneOf(
        "int",
        ...bound(i),
        term("($0 + $1)", i, i),
        term("($0 / $1)", i, i),
        term("$0.size()", l),
        term("$0.size()", o),
        term("$0[$1]", l, i),
        term("$0[$1]", o, i),
        term("[$0][?$1].orValue($2)", i, i, i),
      ),
      bool: oneOf(
        "bool",
        ...bound(b),
        term("($0 > $1)", i, i),
        term("($0 == $1)", l, l),
        term("($0 == $1)", o, o),
        term("($0 && $1)", b, b),
        term("($0 || $1 || $2)", b, b, b),
        term("!$0", b),
        term("($0 in $1)", i, l),
        term("($0 in $1)", i, o),
        ...["all", "exists", "exists_one"].flatMap((macro) => [
          term(`$1.${macro}($0, $2)`, ints, l, b),
          term(`$0.${macro}(a, b, $1)`, l, b),
          term(`$1.${macro}($0, $2)`, ints, o, b),
          term(`$0.${macro}(c, a, $1)`, o, b),
        ]),
      ),
      list: oneOf(
        "list",
        ...bound(l),
        term("[$0, $1]", i, i),
        term("[$0, ?optional.of($1), ?optional.none()]", i, i),
        term("($0 + $1)", l, l),
        term("$1.map($0, $2)", ints, l, i),
        term("$1.map($0, $2, $3)", ints, l, b, i),
        term("$1.filter($0, $2)", ints, l, b),
        term("$1.sortBy($0, $2)", ints, l, i),
        term("$1.map($0, $2)", ints, o, i),
        term("$0.transformList(a, b, $1)", l, i),
        term("$0.transformList(b, c, $1, $2)", o, b, i),
      ),
      map: oneOf(
        "map",
        ...bound(o),
        term("{$0: $1}", i, i),
        term("{$0: $1, ?$2: optional.of($3)}", i, i, i, i),
        term("$0.transformMap(a, b, $1)", l, i),
        term("$0.transformMap(a, c, $1, $2)", o, b, i),
        term("$0.transformMapEntry(a, b, {$1: $2})", l, i, i),
      ),
    };
  });
  return fc.oneof(bool, list, int, map);
}

const own: Readonly<Record<keyof Terms, readonly string[]>> = {
  int: ["1", "2", "a", "b", "c"],
  bool: ["true", "(a < 1)", "(b < c)", "(m == [])"],
  list: ["self", "m", "n", "[1, 2]", "self.filter(a, a > 5)"],
  map: ["{1: 2, a: b}"],
};
