// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-721 with what a reader of transfers needs.
contract Collectible {
    string public constant name = "Sandbox Portraits";
    string public constant symbol = "PORTRAIT";
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function mint(uint256 tokenId) external {
        require(ownerOf[tokenId] == address(0), "taken");
        move(address(0), msg.sender, tokenId);
    }

    function transferFrom(address from, address to, uint256 tokenId) external {
        require(ownerOf[tokenId] == from && msg.sender == from, "not the owner");
        balanceOf[from] -= 1;
        move(from, to, tokenId);
    }

    function move(address from, address to, uint256 tokenId) private {
        ownerOf[tokenId] = to;
        balanceOf[to] += 1;
        emit Transfer(from, to, tokenId);
    }
}
