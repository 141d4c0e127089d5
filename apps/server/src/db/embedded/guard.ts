/**
 * Whether the owner of a data directory lives, also where its process id says nothing: each container has ids of its own.
 * The owner listens on a socket in that directory. However it ends, the kernel closes the socket with it, and until then
 * whoever sees the directory can connect, from every container of this machine.
 *
 * Another machine is not reached, and neither is anyone on a file system without sockets, where a process id has to do.
 */
import { once } from 'node:events'
import { constants, open, type FileHandle } from 'node:fs/promises'
import net from 'node:net'
import { errorCodeOf, ignore } from '../error-code.ts'

/** Undefined where there can be none. Returns a function that removes it. */
export async function openGuard(directory: string, name: string): Promise<(() => Promise<void>) | undefined> {
  // Containers are Linux, and elsewhere the path of a socket could be too long.
  if (process.platform !== 'linux') return undefined
  const handle = await openDirectory(directory).catch(() => undefined)
  if (handle === undefined) return undefined
  const server = net.createServer((socket) => socket.destroy()).unref()
  try {
    server.listen({ path: toShortPath(handle, name), exclusive: true })
    await once(server, 'listening')
  } catch {
    await handle.close()
    return undefined
  }
  // The kernel takes connections by itself, so it does no harm if this process has no file descriptor left for one.
  server.on('error', () => undefined)
  return async () => {
    server.close()
    await once(server, 'close')
    await handle.close()
  }
}

export async function isGuarded(directory: string, name: string): Promise<boolean> {
  if (process.platform !== 'linux') return false
  // Another start, which is refused, takes its directory away again.
  const handle = await openDirectory(directory).catch(ignore('ENOENT'))
  if (handle === undefined) return false
  const socket = net.connect(toShortPath(handle, name))
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    // Nothing else says that it is dead: of an owner that was stopped while others wait for it, the error is EAGAIN, and
    // SELinux keeps containers from connecting to each other with EACCES.
    const code = errorCodeOf(error)
    return code !== 'ECONNREFUSED' && code !== 'ENOENT'
  } finally {
    socket.destroy()
    await handle.close()
  }
}

function openDirectory(directory: string): Promise<FileHandle> {
  return open(directory, constants.O_RDONLY | constants.O_DIRECTORY)
}

/** The path of a socket has 108 bytes at most. */
function toShortPath({ fd }: FileHandle, name: string): string {
  return `/proc/self/fd/${fd}/${name}`
}
