// SPDX-License-Identifier: Apache-2.0
// Rendering alone, for a command that has to start at once: nothing here loads controllers, metrics or an API server.
export { type Rendered, type RenderOptions, renderComposite } from "./render-composite.ts";
export { isRenderError, RenderError, type RenderInput } from "./render-error.ts";
export type { RenderInputs } from "./render-inputs.ts";
