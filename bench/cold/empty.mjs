/** A process that does nothing; the cost of all that is not ours. */
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system }));
