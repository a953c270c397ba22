package redislimit

const (
	slots           = 16384 // of a Redis Cluster
	slotsPerBreaker = 256   // a node's slots are ranges, so a breaker is of one node nearly always
)

// slotOf returns the Cluster slot of a hash tag: CRC-16/XMODEM modulo 16384, as the Redis Cluster specification has it.
func slotOf(tag []byte) int {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}
