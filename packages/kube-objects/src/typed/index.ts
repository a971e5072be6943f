// SPDX-License-Identifier: Apache-2.0
// Built-in kinds in the form in which the Kubernetes API server stores them, and their protobuf encoding.
export { decodeProtobuf } from "../protobuf/decode-protobuf.ts";
export { ProtobufError } from "../protobuf/protobuf-fields.ts";
export { requiringFewAmounts } from "./amounts.ts";
export { refuseMisfits } from "./decoding-problem.ts";
export { requireConvertible } from "./map-conversion.ts";
export { canonicalQuantity, compareQuantities, quantityNanos, quantityText, quantityValue } from "./quantity.ts";
export { TypedFormError } from "./special-forms.ts";
export { hasTypedForm, toTypedForm, toTypedMetadata, typing } from "./typed-form.ts";
export { inTypedOrder } from "./typed-order.ts";
