package session

const importExt = ".import"
