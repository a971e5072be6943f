// SPDX-License-Identifier: Apache-2.0

/** The function names behind the operators. */
export const op = {
  conditional: "_?_:_",
  and: "_&&_",
  or: "_||_",
  not: "!_",
  equals: "_==_",
  notEquals: "_!=_",
  less: "_<_",
  lessEquals: "_<=_",
  greater: "_>_",
  greaterEquals: "_>=_",
  add: "_+_",
  subtract: "_-_",
  multiply: "_*_",
  divide: "_/_",
  modulo: "_%_",
  negate: "-_",
  index: "_[_]",
  optionalIndex: "_[?_]",
  optionalSelect: "_?._",
  in: "@in",
  notStrictlyFalse: "@not_strictly_false",
} as const;

/** Binary operators by their spelling. */
export const binaryOperators: ReadonlyMap<string, string> = new Map([
  ["==", op.equals],
  ["!=", op.notEquals],
  ["<", op.less],
  ["<=", op.lessEquals],
  [">", op.greater],
  [">=", op.greaterEquals],
  ["in", op.in],
  ["+", op.add],
  ["-", op.subtract],
  ["*", op.multiply],
  ["/", op.divide],
  ["%", op.modulo],
]);
