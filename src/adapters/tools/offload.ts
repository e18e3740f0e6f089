export { DirectoryResultStore, type DirectoryResultStoreOptions } from "./offload/directory-result-store.js";
export { InMemoryResultStore, type InMemoryResultStoreOptions } from "./offload/in-memory-result-store.js";
export { offloadResults, type OffloadOptions } from "./offload/offload-results.js";
export type { ResultKey, ResultPage, ResultStore } from "./offload/result-store.js";
