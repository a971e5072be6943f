// SPDX-License-Identifier: Apache-2.0
export { functionProject, functionSource } from "./function-project.ts";
export { type TempFolder, tempFolder } from "./temp-folder.ts";
