// SPDX-License-Identifier: Apache-2.0
// Rendering alone, for a command that has to start at once: nothing here loads controllers, metrics or an API server.
export { type Rendered, renderComposite } from "./render-composite.ts";
export { isRenderError, RenderError } from "./render-error.ts";
