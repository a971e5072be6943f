// SPDX-License-Identifier: Apache-2.0
// Label selectors and field selectors.
export {
  exactFieldValue,
  type FieldSelector,
  fieldLabelNotSupported,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldSelector,
} from "./field-selector.ts";
export { type IndexedSelector, indexSelector, matchesIndexed } from "./indexed-selector.ts";
export { formatLabelSelector, type LabelSelector, matchesLabels, parseLabelSelector } from "./label-selector.ts";
export {
  type LabelSelectorObject,
  labelSelectorOf,
  meetsLabelSelector,
  readingLabelSelector,
} from "./label-selector-object.ts";
